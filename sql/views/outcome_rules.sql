-- What each state of a response means for the cache and for the next attempt.
--   transient  the provider's fault, and it may pass (rate limit, overload, time-out)
--   serves     the answer is used, and its prompt is never sent again
--   next       what its prompt is due when this is the newest thing known of it:
--              'serve', 'retry' (the same again), 'more_room' (once, as a wider prompt), 'give_up'
--   counts     whether it uses up one of the prompt's attempts
select * from (values
    ('ok',          false, true,  'serve',   true),
    ('unparseable', false, false, 'give_up', true),
    ('truncated',   false, false, 'more_room', true),
    ('refused',     false, false, 'give_up', true),
    ('empty',       false, false, 'retry',   true),
    ('error',       false, false, 'give_up', true),
    ('error',       true,  false, 'retry',   true),
    ('missing',     false, false, 'retry',   true),
    ('malformed',   false, false, 'retry',   true),
    ('expired',     false, false, 'retry',   false),
    ('cancelled',   false, false, 'retry',   false)
) as rules (state, transient, serves, next, counts)
