// The page, driven as people use it: a real browser, real servers, the real API. Screenshots of what is seen are left in the
// build folder (screenshots/). All in one file, because one browser serves all of it.
import './answering.js';
import './meant.js';
import './haste.js';
import './reading.js';
import './row.js';
import './data.js';
import './living.js';
import './elsewhere.js';
import './doors.js';
import './planted.js';
import './hosted.js';
import './accounts.js';
import './plugin.js';
import './looks.js';
