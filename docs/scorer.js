// The search of the site: of pages that fit a question equally, those that say how to do it come first, then the reference,
// and what is for those who work on Perdure last. All numbers but `score` are Sphinx's own.
const behind = (page) =>
  /^(CHANGELOG|CONTRIBUTING|docs\/design$|bench\/|training\/)/.test(page) ? 4 : /^docs\/(reference|adapters)\//.test(page) ? 2 : 0;
var Scorer = {
  score: ([page, title, anchor, description, score]) => score - behind(page),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
