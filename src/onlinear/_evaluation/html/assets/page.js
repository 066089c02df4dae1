"use strict";
// Draws the charts in the page's colour scheme, light or dark; printed charts are always light.
(() => {
  const root = document.documentElement;
  const palette = JSON.parse(document.getElementById("palette").textContent);
  const schemes = {
    light: { ink: "#1b1f24", soft: "#59626b", grid: "#e6e8eb", paper: "#ffffff" },
    dark: { ink: "#e6e8ea", soft: "#a3abb3", grid: "#2d333a", paper: "#15181c" },
  };
  const toDark = new Map(palette.light.map((colour, k) => [colour, palette.dark[k]]));
  const media = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("scheme");
  const mouse = matchMedia("(pointer: fine)").matches; // on a touch screen, dragging scrolls the page
  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: mouse ? "hover" : false,
    modeBarButtons: [["toImage", "resetScale2d"]],
  };
  let chosen = null;
  let printing = false;

  const scheme = () => (printing ? "light" : chosen ?? (media.matches ? "dark" : "light"));

  const charts = [...document.querySelectorAll(".chart")].map((place) => {
    const figure = place.closest("figure");
    const { data, layout } = JSON.parse(figure.querySelector("script").textContent);
    return { place, figure, data, layout, logarithmic: { x: layout.xaxis, y: layout.yaxis }, linear: false };
  });

  function coloured(trace) {
    if (scheme() === "light") return trace;
    const dark = { ...trace };
    for (const part of ["line", "marker"]) {
      const colour = trace[part]?.color;
      if (toDark.has(colour)) dark[part] = { ...trace[part], color: toDark.get(colour) };
    }
    if (toDark.has(trace.fillcolor)) dark.fillcolor = toDark.get(trace.fillcolor);
    return dark;
  }

  function axis(given, chart) {
    const { soft, grid } = schemes[scheme()];
    const { type, range, ...rest } = given;
    const panel = chart.figure.closest(".panels") !== null;
    const tickformat = panel && rest.tickformat === ",d" ? "~s" : rest.tickformat; // in a narrow panel, 20k
    const narrow = panel || chart.place.clientWidth < 480;
    const common = {
      automargin: true, gridcolor: grid, linecolor: grid, zerolinecolor: soft, zerolinewidth: 0.75,
      nticks: narrow ? 5 : 9, tickfont: { size: 12, color: soft }, hoverformat: rest.tickformat ?? ",.5~g",
      ...rest,
      title: { ...rest.title, font: { size: 12, color: soft }, standoff: 8 },
    };
    if (type !== "log" || chart.linear) return { ...common, tickformat: tickformat ?? "" };
    return { ...common, type, range: [...range], ...decades(range[1] - range[0], tickformat, soft) };
  }

  // labels of a logarithmic axis: powers of ten, or also 2 and 5 times them if the axis is short
  function decades(span, tickformat, soft) {
    if (span < 0.8) return { tickformat: tickformat ?? ",~g" };
    if (span < 2.5) return { dtick: "D2", tickformat: tickformat ?? ",~g" };
    const dtick = Math.ceil(span / 8);
    if (tickformat) return { dtick, tickformat };
    return { dtick, exponentformat: "power", tickfont: { size: 10, color: soft } }; // Plotly enlarges powers by a quarter
  }

  function layoutOf(chart) {
    const { ink, paper, soft } = schemes[scheme()];
    const width = printing ? { width: chart.figure.closest(".panels") ? 315 : 670, autosize: false } : { autosize: true };
    return {
      ...chart.layout, ...width,
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
      paper_bgcolor: paper, plot_bgcolor: paper,
      margin: { l: 8, r: 12, t: 10, b: 8 },
      showlegend: false, dragmode: mouse ? "zoom" : false, hovermode: "x unified",
      hoverlabel: { bgcolor: paper, bordercolor: soft, font: { color: ink } },
      modebar: { color: soft, activecolor: ink, bgcolor: "rgba(0,0,0,0)" },
      xaxis: axis(chart.logarithmic.x ?? {}, chart),
      yaxis: axis(chart.logarithmic.y ?? {}, chart),
    };
  }

  const draw = (chart) => Plotly.react(chart.place, chart.data.map(coloured), layoutOf(chart), config);

  function redraw() {
    if (!printing) {
      root.dataset.scheme = scheme();
      button.textContent = scheme() === "dark" ? "light" : "dark";
    }
    charts.forEach(draw);
  }

  for (const chart of charts) {
    for (const key of chart.figure.querySelectorAll(".key")) {
      key.addEventListener("click", () => {
        const shown = key.getAttribute("aria-pressed") !== "true";
        key.setAttribute("aria-pressed", String(shown));
        chart.data[Number(key.dataset.trace)].visible = shown;
        draw(chart);
      });
    }
    const scales = chart.figure.querySelector(".scales");
    scales?.addEventListener("click", () => {
      chart.linear = !chart.linear;
      scales.textContent = chart.linear ? "logarithmic axes" : "linear axes";
      draw(chart);
    });
  }
  button.addEventListener("click", () => {
    chosen = scheme() === "dark" ? "light" : "dark";
    redraw();
  });
  media.addEventListener("change", redraw);
  addEventListener("beforeprint", () => { printing = true; redraw(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });

  root.dataset.scheme = scheme();
  button.textContent = scheme() === "dark" ? "light" : "dark";
  let drawn = 0;
  async function next() {
    if (drawn < charts.length) {
      await draw(charts[drawn]);
      drawn += 1;
      setTimeout(next, 0);
    } else {
      root.dataset.ms = String(Math.round(performance.now()));
      root.dataset.drawn = String(drawn);
    }
  }
  next();
})();
