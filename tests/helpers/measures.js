// Measurements inside a page, for the tests.
window.measures = (() => {
  const shown = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && node.getClientRects().length > 0;
  const name = (node) => `${node.tagName.toLowerCase()}#${node.id}.${node.getAttribute("class") ?? ""} ${(node.textContent ?? "").trim().slice(0, 30)}`;
  const numbers = (colour) => {
    const found = colour.match(/[\d.]+/g).map(Number);
    return { rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : 1 };
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const over = (top, ground) => top.rgb.map((part, i) => part * top.alpha + ground[i] * (1 - top.alpha));
  const ground = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) layers.push(numbers(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const ratio = (first, second) => {
    const [a, b] = [light(first), light(second)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const texts = () => [...document.body.querySelectorAll("*")].filter((node) => shown(node) && !node.closest("script, style, select, :disabled")
    && [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()));
  const usable = () => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((node) => shown(node) && !node.disabled && node.type !== "hidden")
    .filter((node) => node.type !== "radio" || node.checked);
  const visited = new Set(), unseen = [];
  return {
    outside: () => [...document.body.querySelectorAll("*")].filter((node) => shown(node) && !node.closest("svg, pre, .box, .meter, select, [hidden]"))
      .filter((node) => { const box = node.getBoundingClientRect(); return box.width > 1 && (box.right > innerWidth + 0.5 || box.left < -0.5); }).map(name),
    faint: () => texts().map((node) => {
      const style = getComputedStyle(node), size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      const below = ground(node), ink = numbers(node.closest("svg") ? style.fill : style.color);
      return [ratio(over(ink, below), below), large ? 3 : 4.5, name(node)];
    }).filter(([found, wanted]) => found < wanted).map(([found, , what]) => `${found.toFixed(2)} ${what}`),
    usable: () => usable().map(name),
    visit: () => {
      const node = document.activeElement;
      if (visited.has(node) || node === document.body) return;
      visited.add(node);
      const style = getComputedStyle(node);
      if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) unseen.push(name(node));
    },
    unvisited: () => usable().filter((node) => !visited.has(node)).map(name),
    unseen: () => unseen,
  };
})();
