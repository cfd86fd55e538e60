-- What is paid for: rows are added and never dropped or rewritten.

-- One body to send, keyed by what is sent and where to. input tokens are an estimate. settings: a
-- digest of the parameters and the answer form, which a model takes or refuses whatever is asked.
create table prompts (
    prompt_hash    uuid primary key,
    provider       varchar not null,
    base_url       varchar not null,
    endpoint       varchar not null,
    model          varchar not null,
    settings       varchar not null default '',
    n_bytes        integer not null,
    n_input_tokens integer not null,
    created_at     timestamptz not null
);

-- The bodies, cold: in trajectory order, so that neighbours share their text when compressed.
create table prompt_bodies (
    prompt_hash uuid not null,
    body        varchar not null using compression zstd
);

-- Prompts sent together. Written before the provider hears of it; remote_id is filled in once.
-- lines_sha256 is over the custom ids: each holds its prompt's hash, and so stands for its body.
create table batches (
    batch_id        varchar primary key,
    provider        varchar not null,
    base_url        varchar not null,
    endpoint        varchar not null,
    model           varchar not null,
    mode            varchar not null,
    token           varchar not null unique,
    remote_id       varchar,
    n_prompts       integer not null,
    n_bytes         bigint not null,
    n_input_tokens  bigint not null,
    lines_sha256    varchar not null,
    key_fingerprint varchar not null,
    created_at      timestamptz not null
);

-- Which prompts a batch carries, and which attempt at each this is (1 = first).
create table batch_prompts (
    batch_id    varchar not null,
    custom_id   varchar not null,
    prompt_hash uuid not null,
    attempt     integer not null
);

create sequence event_ids;

-- What happened to a batch; its status is the newest row. detail: JSON.
create table batch_events (
    event_id bigint not null default nextval('event_ids'),
    batch_id varchar not null,
    status   varchar not null,
    "at"     timestamptz not null,
    detail   json
);

-- One result line for one prompt, whatever its outcome. raw is the line as it came.
create table responses (
    batch_id         varchar not null,
    custom_id        varchar not null,
    prompt_hash      uuid not null,
    outcome          varchar not null,
    text             varchar using compression zstd,
    finish_reason    varchar,
    model            varchar,
    error            varchar,
    is_transient     boolean not null,
    input_tokens     integer,
    cached_tokens    integer,
    output_tokens    integer,
    reasoning_tokens integer,
    cost_usd         double,
    received_at      timestamptz not null,
    raw              varchar using compression zstd
);

-- Result lines that could not be tied to one prompt of their batch: kept, never chosen from.
create table quarantine (
    batch_id varchar not null,
    reason   varchar not null,
    line     integer not null,
    raw      varchar not null using compression zstd,
    "at"     timestamptz not null
);
