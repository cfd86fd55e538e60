-- What the database may cost in all, in US dollars; the newest row counts. Infinity lifts the cap.
-- allow_unpriced: prompts whose price is not known are sent all the same, outside the cap.
create table budgets (
    max_usd        double not null,
    allow_unpriced boolean not null,
    set_at         timestamptz not null
);

-- What a line was expected to cost when it was put into its batch, and what was set aside for it:
-- the same with a long answer. NULL where the price is not known. Written once.
alter table batch_prompts add column expected_usd double;
alter table batch_prompts add column reserved_usd double;
