// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package giteatest

import (
	"net/http"
	"testing"
)

// Protect lets nobody merge into main unless statuses with these names are good.
func (w *World) Protect(t testing.TB, statuses ...string) {
	t.Helper()
	w.Do(t, "", http.MethodPost, w.repo("/branch_protections"), object{"rule_name": "main", "enable_push": true, "enable_status_check": true, "status_check_contexts": statuses, "block_admin_merge_override": true}, nil)
}

// Refuses reports whether Gitea refuses to merge, and what it says.
func (w *World) Refuses(t testing.TB, number int) (bool, string) {
	t.Helper()
	code, text := w.send(t, http.MethodPost, w.pull(number, "/merge"), object{"Do": "merge"}, nil, func(r *http.Request) { r.Header.Set("Authorization", "token "+w.token) })
	return code >= http.StatusBadRequest, text
}
