-- What is judged, and what annotators said of it.

-- One run of an agent on one task. gold_actions: JSON list of {name, arguments, requestor, compare_args}.
create table trajectories (
    trajectory_id  varchar primary key,
    dataset        varchar not null,
    domain         varchar not null,
    task_id        varchar not null,
    trial          integer,
    agent_model    varchar,
    objective      varchar not null,
    policy         varchar using compression zstd,
    gold_actions   json,
    success        boolean,
    reward         double,
    n_messages     integer not null,
    content_digest varchar not null,
    source         varchar not null,
    imported_at    timestamptz not null
);

-- One entry of a trajectory, with its original 0-based index.
create table messages (
    trajectory_id varchar not null,
    message_index integer not null,
    role          varchar not null,
    content       varchar not null using compression zstd,
    tool_calls    json,
    requestor     varchar,
    tool_call_id  varchar,
    is_error      boolean not null
);

-- One (reasoning, action, observation) of one player; judged = a tool call of the assistant.
create table steps (
    trajectory_id varchar not null,
    step_index    integer not null,
    player        varchar not null,
    judged        boolean not null,
    call_index    integer not null,
    result_index  integer,
    tool          varchar,
    arguments     json,
    result        varchar using compression zstd,
    is_error      boolean not null
);

-- One row per annotated trajectory and label set, so that a clean one is known to be clean.
create table annotations (
    label_set     varchar not null,
    trajectory_id varchar not null,
    annotator     varchar not null,
    n_labels      integer not null,
    source        varchar not null,
    imported_at   timestamptz not null,
    primary key (label_set, trajectory_id)
);

-- One row per redundant step. evidence: message indices; [-1] is a fixed policy.
create table labels (
    label_set     varchar not null,
    trajectory_id varchar not null,
    step_index    integer not null,
    kind          varchar,
    evidence      integer[],
    confidence    varchar,
    is_synthetic  boolean not null
);
