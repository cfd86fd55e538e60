-- One row a response: what it cost, by kind of token, and on whose account. A prompt may be shared by
-- many requests: its bill is that of the first of them (the least rowid), and strategy and domain are
-- that request's, NULL where its requests are gone. A widened prompt and the answer that was cut
-- short are one prompt here. judge is provider:model as it was asked, mode how it travelled.
-- is_counted: the answer that a prompt would also have needed if nothing had ever gone wrong, the
-- first that could be read or else the first; all others of the prompt are retries. fresh_tokens are
-- input that was neither read from a prompt cache nor written into one; output_tokens include
-- reasoning_tokens. usd is the bill and the sum of the five usd_ columns; uncached_usd is the same
-- bill with all input fresh; list_usd live besides. All of them are NULL where the price or the usage
-- is not known; is_unpriced where an answer came or may have come then, so that it may have been
-- charged for. A response stored before unit prices were has usd and nothing else.
with named as (
    select
        answers.*,
        coalesce(widened.wider_hash, answers.prompt_hash) as account_hash,
        batches.provider || ':' || batches.model as judge,
        batches.mode
    from answers
    join batches using (batch_id)
    left join widened on widened.prompt_hash = answers.prompt_hash
)
select
    named.batch_id,
    named.custom_id,
    named.account_hash as prompt_hash,
    named.judge,
    named.mode,
    accounts.strategy,
    trajectories.domain,
    coalesce(accounts.n_requests, 1) as n_requests,
    row_number() over (
        partition by named.account_hash
        order by named.state = 'ok' desc, named.received_at, named.attempt, named.batch_id
    ) = 1 as is_counted,
    named.state,
    named.cost_usd is null and named.state not in ('error', 'expired', 'cancelled') as is_unpriced,
    greatest(
        named.input_tokens - coalesce(named.cached_tokens, 0)
        - coalesce(named.write_5m_tokens, 0) - coalesce(named.write_1h_tokens, 0),
        0
    ) as fresh_tokens,
    named.cached_tokens,
    named.write_5m_tokens,
    named.write_1h_tokens,
    named.output_tokens,
    named.reasoning_tokens,
    coalesce(fresh_tokens, 0) * named.usd_per_m_input / 1e6 as usd_fresh,
    coalesce(named.cached_tokens, 0) * named.usd_per_m_cached / 1e6 as usd_cached,
    coalesce(named.write_5m_tokens, 0) * named.usd_per_m_write_5m / 1e6 as usd_write_5m,
    coalesce(named.write_1h_tokens, 0) * named.usd_per_m_write_1h / 1e6 as usd_write_1h,
    coalesce(named.output_tokens, 0) * named.usd_per_m_output / 1e6 as usd_output,
    named.cost_usd as usd,
    (coalesce(named.input_tokens, 0) * named.usd_per_m_input
        + coalesce(named.output_tokens, 0) * named.usd_per_m_output) / 1e6 as uncached_usd,
    named.list_usd
from named
left join prompt_uses as accounts on accounts.prompt_hash = named.account_hash
left join trajectories using (trajectory_id)
