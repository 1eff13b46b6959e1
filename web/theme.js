// Runs before the first paint, so that a chosen theme does not flash. What is chosen is kept in this browser alone.
{
  const theme = localStorage.getItem('nod-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
}
