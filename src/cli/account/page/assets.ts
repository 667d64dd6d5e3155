/** The page's own files, by their paths after the token: its policy allows no others. */
export const assets: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  '/page.css': {
    type: 'text/css; charset=utf-8',
    text: `:root { color-scheme: light dark; --bad: light-dark(#b3261e, #ff8a80); --good: light-dark(#2e7d32, #81c784); --line: light-dark(#d0d0d0, #555) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere }
h1, h2, h3 { line-height: 1.25 } h2 { margin-top: 2.5rem } article { border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; margin: 1rem 0 }
h3, article p { margin: 0 0 .5rem } dl { margin: 0 0 .8rem } dt { font-weight: 600 } dd { margin: 0 } article dl { font-size: .9rem }
@media (min-width: 40rem) { dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .2rem 1rem } dt { max-width: 14rem } }
label { display: block; font-weight: 600; margin-top: 1.4rem } .need { font-weight: 400; font-size: .85rem; opacity: .8; margin-left: .4rem }
.about { font-size: .9rem; margin: .1rem 0 .3rem } .about p { margin: 0 } .about p + p { opacity: .8 } ::placeholder { color: inherit; opacity: .6 }
input, select, textarea { font: inherit; width: 100%; box-sizing: border-box; padding: .3rem } textarea { resize: vertical }
input[type=checkbox] { width: auto; margin-right: .4rem } .tick { font-weight: 400; margin-top: .3rem } textarea.masked { -webkit-text-security: disc }
.error { color: var(--bad); font-weight: 600; margin: .3rem 0 } [aria-invalid=true] { outline: 2px solid var(--bad) }
.done, .failed { border-left: 4px solid var(--good); padding-left: .8rem; white-space: pre-line } .failed { border-color: var(--bad) }
.actions { display: flex; flex-wrap: wrap; gap: .6rem } .actions .error { flex-basis: 100% }
button, .button { font: inherit; display: inline-block; padding: .3rem 1.1rem; border: 1px solid var(--line); border-radius: .3rem; background: ButtonFace; color: ButtonText; text-decoration: none; cursor: pointer }
form > button { margin-top: 1.5rem } .actions form > button { margin: 0 } button.danger { background: none; border-color: var(--bad); color: var(--bad) } button:disabled { opacity: .5 }
`,
  },
  '/page.js': {
    type: 'text/javascript; charset=utf-8',
    // A double click would submit the form twice, and the second request would fail because the
    // account exists.
    text: `for (const form of document.forms) form.addEventListener('submit', () => form.querySelector('button').disabled = true);
addEventListener('pageshow', () => { for (const form of document.forms) form.querySelector('button').disabled = false; });
document.querySelector('[aria-invalid=true]')?.focus();
const field = (key) => document.getElementById('field.' + key);
const valueOf = (key) => field(key)?.value.trim() || (field(key)?.dataset.fallback ?? '');
const isGiven = (key) => valueOf(key) !== '' || field(key)?.dataset.kept !== undefined;
function requireFields() {
  for (const input of document.querySelectorAll('[data-required-when]')) {
    const conditions = Object.entries(JSON.parse(input.dataset.requiredWhen));
    const isNeeded = conditions.every(([key, condition]) => condition === 'given' ? isGiven(key) : condition.map(String).includes(valueOf(key)));
    input.required = isNeeded && input.dataset.kept === undefined;
    const need = document.getElementById(input.id + '.need');
    need.textContent = isNeeded ? need.dataset.text.replace('required when', 'required, because') : need.dataset.text;
  }
}
for (const event of ['input', 'change', 'pageshow']) addEventListener(event, requireFields);
requireFields();
`,
  },
};
