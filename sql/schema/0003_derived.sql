-- What can be rebuilt for nothing.

-- One question: this trajectory, this strategy, this judge. Many may share one prompt.
-- strategy_digest changes with the strategy's text. targets: the step indices asked about;
-- positions: the numbers under which the prompt shows them, among n_shown steps.
create table requests (
    trajectory_id   varchar not null,
    strategy        varchar not null,
    strategy_digest varchar not null,
    gold            boolean not null,
    judge           varchar not null,
    repeat          integer not null,
    excerpt_index   integer not null,
    mode            varchar not null,
    answer          varchar not null,
    n_shown         integer not null,
    targets         integer[] not null,
    positions       integer[] not null,
    prompt_hash     uuid not null
);

-- What the parser made of each ok response: state is 'ok' or 'unparseable'.
create table readings (
    batch_id  varchar not null,
    custom_id varchar not null,
    state     varchar not null,
    detail    varchar
);

-- One verdict on one step.
create table predictions (
    trajectory_id   varchar not null,
    step_index      integer not null,
    strategy        varchar not null,
    strategy_digest varchar not null,
    gold            boolean not null,
    judge           varchar not null,
    repeat          integer not null,
    is_redundant    boolean not null,
    kind            varchar,
    evidence        integer[],
    confidence      double,
    rank            integer
);
