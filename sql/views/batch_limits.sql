-- One row per model whose provider once refused a batch for its size: what one batch may hold, as
-- far as those refusals told. Each refusal that names no limit halves what the refused batch held.
-- line_limit  most lines. A refusal for quota that met a batch of one line as well was about money,
--             not about size: what was learnt before it no longer counts. NULL where nothing is known
-- byte_limit  most bytes, except that a single line may have more; NULL where nothing is known
-- longest     most bytes of one line, where a batch of a single line was refused; else NULL
with refusals as (
    select
        batches.provider,
        batches.base_url,
        batches.model,
        batches.n_prompts,
        batch_events.event_id,
        (batch_events.detail ->> 'line_limit')::bigint as line_limit,
        (batch_events.detail ->> 'byte_limit')::bigint as byte_limit,
        coalesce((batch_events.detail ->> 'unlearnt')::boolean, false) as is_unlearnt
    from batch_events
    join batches using (batch_id)
    where batch_events.status = 'refused'
),
since as (
    select
        *,
        max(event_id) filter (is_unlearnt) over (partition by provider, base_url, model) as unlearnt
    from refusals
)
select
    provider,
    base_url,
    model,
    min(line_limit) filter (unlearnt is null or event_id > unlearnt) as line_limit,
    min(byte_limit) as byte_limit,
    min(byte_limit) filter (n_prompts = 1) as longest
from since
where line_limit is not null or byte_limit is not null
group by provider, base_url, model
