-- One row: what this database has cost and may still cost, in US dollars.
--   spent_usd      all priced responses ever received
--   reserved_usd   lines of open batches that have no response yet: what was set aside for them
--   n_unreserved   such lines whose price was not known when they were put into their batch
--   n_unpriced     responses with a usage whose price is not known: their cost is in no figure here
--   max_usd        the cap in force; NULL where none was ever set
--   left_usd       what may still be reserved: max_usd - spent_usd - reserved_usd
with spent as (
    select
        coalesce(sum(cost_usd), 0) as spent_usd,
        count(*) filter (cost_usd is null and output_tokens is not null) as n_unpriced
    from responses
),
reserved as (
    select
        coalesce(sum(batch_prompts.reserved_usd), 0) as reserved_usd,
        count(*) filter (batch_prompts.reserved_usd is null) as n_unreserved
    from batch_prompts
    join batch_states using (batch_id)
    anti join responses using (batch_id, custom_id)
    where batch_states.is_open
),
cap as (
    select arg_max(max_usd, set_at) as max_usd, arg_max(allow_unpriced, set_at) as allow_unpriced
    from budgets
)
select
    spent.spent_usd,
    reserved.reserved_usd,
    reserved.n_unreserved,
    spent.n_unpriced,
    cap.max_usd,
    coalesce(cap.allow_unpriced, false) as allow_unpriced,
    cap.max_usd - spent.spent_usd - reserved.reserved_usd as left_usd
from spent, reserved, cap
