-- Answered prompts that were asked once more, to see whether their judge still says the same.

-- A prompt that round number "round" asks again, and the prompt it is asked as: the same body under a
-- hash of its own, so that its answer is never taken for the first one. Rows are added and never
-- dropped or rewritten; asking the same round again finds them, and asks nothing twice.
create table rechecks (
    round       integer not null,
    prompt_hash uuid not null,
    again_hash  uuid not null,
    created_at  timestamptz not null,
    primary key (round, prompt_hash)
);

-- One step of a request whose prompt was asked again and answered readably both times. first_redundant
-- is what the first answer says of it, again_redundant what the later one says. Derived: may be deleted
-- and made again for nothing.
create table recheck_verdicts (
    round           integer not null,
    prompt_hash     uuid not null,
    trajectory_id   varchar not null,
    step_index      integer not null,
    strategy        varchar not null,
    strategy_digest varchar not null,
    gold            boolean not null,
    judge           varchar not null,
    repeat          integer not null,
    first_redundant boolean not null,
    again_redundant boolean not null
);
