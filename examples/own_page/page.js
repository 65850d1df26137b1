import { Client } from "hushrec";

const file = await fetch("films.safetensors");
const client = await Client.open(await file.arrayBuffer());
const liked = new Set();
const [search, choices, list] = ["search", "choices", "list"].map((id) => document.getElementById(id));

function choice(itemId) {
  const button = document.createElement("button");
  button.textContent = client.title(itemId);
  button.ariaPressed = liked.has(itemId);
  button.onclick = () => {
    if (!liked.delete(itemId)) liked.add(itemId);
    button.ariaPressed = liked.has(itemId);
    showList();
  };
  return button;
}

function showChoices() {
  const found = client.find(search.value).filter((itemId) => !liked.has(itemId));
  choices.replaceChildren(...[...liked, ...found.slice(0, 6)].map(choice));
}

function showList() {
  const rows = client.recommend([...liked], { n: 10 }).map(({ itemId }) => {
    const row = document.createElement("li");
    row.textContent = client.title(itemId);
    return row;
  });
  list.replaceChildren(...rows);
  document.querySelector("h2").textContent = liked.size ? "Your list" : "Everybody's list";
}

search.oninput = showChoices;
showList();

// A release that is one of several has a promise of all of them together.
const { headline, together = headline } = client.release.statement.said;
document.getElementById("promise").textContent = together;
