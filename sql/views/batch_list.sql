-- One row a batch, newest first: where it is and how many of its prompts have a response.
select
    batch_states.batch_id,
    status,
    n_prompts as prompts,
    coalesce(stored.responses, 0) as responses,
    provider || ':' || model as judged_by,
    mode,
    remote_id,
    batch_states.created_at::timestamp(0) as created_at,
    status_at::timestamp(0) as status_at,
    detail ->> 'reason' as reason
from batch_states
left join (
    select batch_id, count(*) as responses from responses group by batch_id
) as stored using (batch_id)
order by batch_states.created_at desc, batch_states.batch_id desc
