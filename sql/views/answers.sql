-- One row a response: its outcome as the provider gave it, or 'unparseable' where the parser
-- could not read an ok text.
select
    responses.batch_id,
    responses.custom_id,
    responses.prompt_hash,
    batch_prompts.attempt,
    case
        when responses.outcome = 'ok' and readings.state = 'unparseable' then 'unparseable'
        else responses.outcome
    end as state,
    responses.is_transient as transient,
    readings.detail,
    responses.text,
    responses.finish_reason,
    responses.model,
    responses.error,
    responses.input_tokens,
    responses.cached_tokens,
    responses.output_tokens,
    responses.reasoning_tokens,
    responses.cost_usd,
    responses.write_5m_tokens,
    responses.write_1h_tokens,
    responses.list_usd,
    responses.usd_per_m_input,
    responses.usd_per_m_cached,
    responses.usd_per_m_write_5m,
    responses.usd_per_m_write_1h,
    responses.usd_per_m_output,
    responses.price_source,
    responses.received_at
from responses
join batch_prompts using (batch_id, custom_id)
left join readings using (batch_id, custom_id)
