// Copyright The Yuba Authors. SPDX-License-Identifier: Apache-2.0
// A link that a person has opened in a browser needs no second click if nobody else is logged in.
"use strict";
const link = document.getElementById("link");
if (link) {
  history.replaceState(null, "", "/login");
  // Somebody else's link must not replace a session unasked.
  if (link.hasAttribute("data-at-once")) link.requestSubmit();
}
