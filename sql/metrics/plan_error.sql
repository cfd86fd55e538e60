-- One row per judge and strategy: what lines were expected to cost when they were put into a batch,
-- against what they did cost; only lines that were answered and have both figures.
--   expected_tokens, input_tokens   our own count of the input, and what the provider billed
--   expected_usd, reserved_usd, cost_usd   US dollars: the likely cost, what was set aside, the bill
--   input_error, cost_error         (expected - billed) / billed: 0.1 is 10 % too high
--   n_unpriced                      answered lines that lack a price, in none of the figures
with lines as (
    select
        uses.judge,
        uses.strategy,
        prompts.n_input_tokens,
        responses.input_tokens,
        batch_prompts.expected_usd,
        batch_prompts.reserved_usd,
        responses.cost_usd,
        batch_prompts.expected_usd is not null and responses.cost_usd is not null as is_priced
    from responses
    join batch_prompts using (batch_id, custom_id)
    join prompts on prompts.prompt_hash = responses.prompt_hash
    join prompt_uses as uses on uses.prompt_hash = responses.prompt_hash
    where responses.input_tokens is not null and prompts.provider != 'offline'
)
select
    judge,
    strategy,
    count(*) filter (is_priced) as n_lines,
    sum(n_input_tokens) filter (is_priced) as expected_tokens,
    sum(input_tokens) filter (is_priced) as input_tokens,
    sum(expected_usd) filter (is_priced) as expected_usd,
    sum(reserved_usd) filter (is_priced) as reserved_usd,
    sum(cost_usd) filter (is_priced) as cost_usd,
    (expected_tokens - sum(input_tokens) filter (is_priced))
    / nullif(sum(input_tokens) filter (is_priced), 0) as input_error,
    (sum(expected_usd) filter (is_priced) - sum(cost_usd) filter (is_priced))
    / nullif(sum(cost_usd) filter (is_priced), 0) as cost_error,
    count(*) filter (not is_priced) as n_unpriced
from lines
group by judge, strategy
