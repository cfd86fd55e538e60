-- One row per prompt with a readable answer: the text that counts. Of several the first one does,
-- for ever: a later one changes no number.
select
    responses.prompt_hash,
    arg_min(responses.text, (responses.received_at, responses.custom_id)) as text
from responses
join readings using (batch_id, custom_id)
where readings.state = 'ok'
group by responses.prompt_hash
