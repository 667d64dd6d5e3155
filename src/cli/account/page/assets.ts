/** The page's own files, by their paths after the token: its policy allows no others. */
export const assets: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  '/page.css': {
    type: 'text/css; charset=utf-8',
    text: `:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .3rem .8rem .3rem 0; vertical-align: top; overflow-wrap: anywhere }
label { display: block; font-weight: 600; margin-top: 1.4rem } .need { font-weight: 400; font-size: .85rem; opacity: .75; margin-left: .4rem }
.about { font-size: .9rem; margin: .1rem 0 .3rem } .about p { margin: 0 } .about p:last-child:not(:first-child) { opacity: .7 } ::placeholder { opacity: .5 }
input, select, textarea { font: inherit; width: 100%; box-sizing: border-box; padding: .3rem } textarea { min-height: 4.5rem }
input[type=checkbox] { width: auto } textarea.masked { -webkit-text-security: disc }
.error { color: #c62828; font-weight: 600 } [aria-invalid=true] { outline: 2px solid #c62828 } .done { border-left: 4px solid #2e7d32; padding-left: .8rem }
button { font: inherit; margin-top: 1.5rem; padding: .4rem 1.2rem }
`,
  },
  '/page.js': {
    type: 'text/javascript; charset=utf-8',
    // Sent twice by a double click, an account would be refused as there already.
    text: `for (const form of document.forms) form.addEventListener('submit', () => form.querySelector('button').disabled = true);
document.querySelector('[aria-invalid=true]')?.focus();
`,
  },
};
