-- One row per model whose provider once refused a batch because too many tokens were waiting: how
-- many may wait, as far as that refusal told, and how many of ours wait now (both estimates).
select
    batches.provider,
    batches.base_url,
    batches.model,
    arg_max((batch_events.detail ->> 'queue_limit')::bigint, batch_events.event_id) as token_limit,
    coalesce(any_value(waiting.tokens), 0) as waiting_tokens
from batch_events
join batches using (batch_id)
left join (
    select provider, base_url, model, sum(n_input_tokens)::bigint as tokens
    from batch_states
    where is_open
    group by all
) as waiting using (provider, base_url, model)
where batch_events.detail ->> 'queue_limit' is not null
group by batches.provider, batches.base_url, batches.model
