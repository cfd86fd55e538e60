-- The later release's tasks: questions about one labelled step, and ranked answers.

-- evidence: the message indices that a question shows as the evidence for its target; NULL where it
-- shows none.
alter table requests add column evidence integer[];

-- One entry of an answer that names steps with kind and evidence. slot: its rank, from 1, by falling
-- confidence, equal ones as written, those without a valid confidence ahead of all. target, shown: the
-- step asked about and the evidence shown with it, NULL where the judge had to find the step itself.
-- step: the messages named (call, result), and step_index the judged step they are; NULL where there
-- is none. confidence: from 0 to 1, else NULL. is_first: the first entry with a valid confidence that
-- names this step. A kind that is none and evidence of no legal form are NULL.
create table findings (
    trajectory_id   varchar not null,
    strategy        varchar not null,
    strategy_digest varchar not null,
    gold            boolean not null,
    judge           varchar not null,
    repeat          integer not null,
    answer          varchar not null,
    target          integer,
    shown           integer[],
    slot            integer not null,
    step            integer[],
    step_index      integer,
    kind            varchar,
    evidence        integer[],
    confidence      double,
    is_first        boolean not null
);
