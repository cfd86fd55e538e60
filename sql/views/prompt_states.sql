-- One row a prompt: what is known of its answer, over all attempts.
-- state: 'answered', 'in flight' (a batch speaks for it), 'due' (to be sent), or 'given up'.
-- At most three attempts count; what expired or was cancelled unread does not.
with history as (
    select
        answers.prompt_hash,
        bool_or(rules.serves) as is_served,
        count(*) filter (where rules.counts) as attempts,
        arg_max(rules.next, (answers.received_at, answers.attempt)) as next
    from answers
    join outcome_rules as rules
        on rules.state = answers.state and rules.transient = answers.transient
    group by answers.prompt_hash
),
held as (
    select distinct batch_prompts.prompt_hash
    from batch_prompts
    join batch_states using (batch_id)
    where batch_states.is_open
)
select
    prompts.*,
    coalesce(history.attempts, 0) as attempts,
    case
        when history.is_served then 'answered'
        when held.prompt_hash is not null then 'in flight'
        when history.next is null then 'due'
        when history.next = 'retry' and history.attempts < 3 then 'due'
        else 'given up'
    end as state
from prompts
left join history using (prompt_hash)
left join held using (prompt_hash)
