// Stops a page whose answer is under way: what came so far stays.
document.addEventListener("click", e => {
  const stop = e.target.closest("[data-stop]");
  if (!stop) return;
  window.stop();
  stop.closest("[data-phase]").remove();
});
