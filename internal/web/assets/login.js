// Copyright The Yuba Authors. SPDX-License-Identifier: Apache-2.0
// A link that a person has opened in a browser needs no second click.
"use strict";
const link = document.getElementById("link");
if (link) {
  history.replaceState(null, "", "/login");
  link.requestSubmit();
}
