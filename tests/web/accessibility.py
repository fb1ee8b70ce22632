"""Checks of WCAG 2.2 AA that a browser can count: names, contrast, sizes of targets."""

from typing import Any, Final

from playwright.async_api import Page

NAMED_ROLES: Final = frozenset(
    {"button", "link", "textbox", "tab", "tablist", "tabpanel", "image", "dialog", "navigation", "region"}
)
"""Roles that a screen reader announces with a name."""

LEAST_CONTRAST: Final = 4.5
"""Of text that isn't large (WCAG 1.4.3)."""

LEAST_TARGET: Final = 24
"""Width and height of what is clicked, in CSS pixels (WCAG 2.5.8)."""

_CONTRASTS: Final = """() => {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d", { willReadFrequently: true });
    // Whatever the notation of a colour is, a canvas knows its red, green, blue and opacity.
    const parse = (colour) => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
        return { rgb: [red, green, blue], alpha: alpha / 255 };
    };
    const over = (top, below) => top.rgb.map((value, index) => value * top.alpha + below[index] * (1 - top.alpha));
    const ground = (element) => {
        if (element === null) return [255, 255, 255];
        const colour = parse(getComputedStyle(element).backgroundColor);
        return colour.alpha === 1 ? colour.rgb : over(colour, ground(element.parentElement));
    };
    const luminance = (rgb) => {
        const [red, green, blue] = rgb.map((value) => {
            const share = value / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const words = walker.currentNode.textContent.trim();
        if (words === "" || !element.checkVisibility({ visibilityProperty: true })) continue;
        const below = ground(element);
        const text = over(parse(getComputedStyle(element).color), below);
        const [dark, light] = [luminance(text), luminance(below)].sort((one, other) => one - other);
        texts.push([words.slice(0, 40), (light + 0.05) / (dark + 0.05)]);
    }
    return texts;
}"""

_SMALL_TARGETS: Final = """(least) => [...document.querySelectorAll("button, summary, input")]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }))
    .map((element) => [element.textContent || element.id, element.getBoundingClientRect()])
    .filter(([, { width, height }]) => width < least || height < least)
    .map(([name, { width, height }]) => `${name}: ${width} x ${height}`)"""


async def unnamed(page: Page) -> list[str]:
    """Return the roles of what has no name though it should, as the browser tells assistive technology."""
    session = await page.context.new_cdp_session(page)
    tree: dict[str, Any] = await session.send("Accessibility.getFullAXTree")
    await session.detach()
    nodes = [node for node in tree["nodes"] if not node.get("ignored")]
    roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes]
    assert any(role == "button" for role, _ in roles)
    return [role for role, name in roles if role in NAMED_ROLES and not name.strip()]


async def faint(page: Page) -> list[str]:
    """Return the visible texts whose contrast is too low, with their contrast."""
    texts = await page.evaluate(_CONTRASTS)
    assert len(texts) > 5
    return [f"{words}: {contrast:.2f}" for words, contrast in texts if contrast < LEAST_CONTRAST]


async def small_targets(page: Page) -> list[str]:
    """Return the visible controls that are too small to hit."""
    small: list[str] = await page.evaluate(_SMALL_TARGETS, LEAST_TARGET)
    return small
