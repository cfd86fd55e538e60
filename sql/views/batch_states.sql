-- One row a batch: what it carries, and its newest event.
-- is_open: its prompts are spoken for. A batch closes when its results are stored ('ingested'), or
-- when it surely never ran ('refused').
select
    batches.*,
    newest.status,
    newest.status_at,
    newest.detail,
    newest.status not in ('ingested', 'refused') as is_open
from batches
join (
    select
        batch_id,
        arg_max(status, event_id) as status,
        arg_max("at", event_id) as status_at,
        arg_max(detail, event_id) as detail
    from batch_events
    group by batch_id
) as newest using (batch_id)
