-- One row per model whose provider once refused a batch because too much was waiting: how much may
-- wait, as far as refusals told, and how much of ours waits now. Tokens are estimates.
-- token_limit, line_limit  from the newest refusal that was about them; NULL where none was
-- waiting_tokens, waiting_lines  of our open batches, sent or about to be
select
    batches.provider,
    batches.base_url,
    batches.model,
    arg_max((batch_events.detail ->> 'queue_limit')::bigint, batch_events.event_id) as token_limit,
    coalesce(any_value(waiting.tokens), 0) as waiting_tokens,
    arg_max((batch_events.detail ->> 'queue_lines')::bigint, batch_events.event_id) as line_limit,
    coalesce(any_value(waiting.lines), 0) as waiting_lines
from batch_events
join batches using (batch_id)
left join (
    select
        provider,
        base_url,
        model,
        sum(n_input_tokens)::bigint as tokens,
        sum(n_prompts)::bigint as lines
    from batch_states
    where is_open
    group by all
) as waiting using (provider, base_url, model)
where
    batch_events.detail ->> 'queue_limit' is not null
    or batch_events.detail ->> 'queue_lines' is not null
group by batches.provider, batches.base_url, batches.model
