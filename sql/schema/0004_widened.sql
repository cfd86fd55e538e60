-- A prompt whose answer was cut short, and the same one with more room for the answer. Requests of
-- the first are requests of the second from then on; a prompt is widened once.
create table widened (
    prompt_hash uuid primary key,
    wider_hash  uuid not null,
    max_tokens  integer not null,
    created_at  timestamptz not null
);
