-- The sample of a recheck: of the prompts of the temporary table `scope` that are answered, those whose
-- lot is below the share $2, or the one with the lowest lot where none is. A lot is a number from 0 to
-- 1, made of the seed $1 and the prompt hash alone, so another prompt in the cache changes nobody's.
--   is_new   round $3 does not ask it again yet
--   repeat   which repeat of its words it is, from 0
with answered as (
    select
        states.*,
        ('0x' || left(md5($1::varchar || ':' || states.prompt_hash::varchar), 13))::bigint
            / 16 ** 13 as lot
    from scope
    join prompt_states as states using (prompt_hash)
    semi join prompt_bodies using (prompt_hash)
    where states.state = 'answered'
),
drawn as (
    select *
    from answered
    qualify lot < $2::double or row_number() over (order by lot, prompt_hash) = 1
)
select
    replace(drawn.prompt_hash::varchar, '-', '') as prompt_hash,
    known.prompt_hash is null as is_new,
    asked.repeat,
    drawn.provider,
    drawn.base_url,
    drawn.endpoint,
    drawn.model,
    drawn.settings,
    drawn.n_bytes,
    drawn.n_input_tokens
from drawn
join (select prompt_hash, min(repeat) as repeat from requests group by prompt_hash) as asked
    using (prompt_hash)
left join (select prompt_hash from rechecks where round = $3) as known using (prompt_hash)
join (select prompt_hash, min(rowid) as position from prompt_bodies group by prompt_hash) as bodies
    using (prompt_hash)
order by bodies.position
