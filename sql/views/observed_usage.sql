-- One row per judge and strategy that has answers with a usage: what a plan learns from them.
--   input_factor   tokens billed for one token of our own count
--   cached_share   the part of the input that the provider read from its prompt cache, 0 to 1
--   write_share    the part of the input that was written into that cache, at a price of its own
--   output_low, output_likely, output_high   output tokens an answer: 5 % have fewer; the mean;
--                  5 % have more
select
    uses.judge,
    uses.strategy,
    count(*) as n_answers,
    sum(responses.input_tokens) / nullif(sum(prompts.n_input_tokens), 0) as input_factor,
    coalesce(sum(responses.cached_tokens), 0) / nullif(sum(responses.input_tokens), 0)
        as cached_share,
    sum(coalesce(responses.write_5m_tokens, 0) + coalesce(responses.write_1h_tokens, 0))
    / nullif(sum(responses.input_tokens), 0) as write_share,
    quantile_cont(responses.output_tokens, 0.05) as output_low,
    avg(responses.output_tokens) as output_likely,
    quantile_cont(responses.output_tokens, 0.95) as output_high
from responses
join prompts using (prompt_hash)
join prompt_uses as uses using (prompt_hash)
where responses.input_tokens is not null and responses.output_tokens is not null
    and prompts.n_input_tokens > 0
group by uses.judge, uses.strategy
