// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications_test

import (
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What programs and users write is text on the page: outputs, messages, summaries and specs.
func TestHostileInstancesAreText(t *testing.T) {
	s := newShop(t)
	code, text := s.ask("ada", http.MethodPost, "/applications/buckets/create", "namespace", s.namespace, "name", "evil", "spec.bucketName", "<script>1</script>")
	s.wants(code, text, 200, "is being created")
	o := s.get("evil")
	before := o.DeepCopy()
	o.Object["status"] = map[string]any{"phase": "Ready", "outputs": map[string]any{"endpoint": "</dd><script>2</script>", "deep": map[string]any{"<script>3</script>": "\u202e\x1b[2J"}},
		"plan":       map[string]any{"summary": "<script>4</script>", "add": int64(0), "change": int64(0), "destroy": int64(0)},
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "<script>5</script>", "lastTransitionTime": "2026-01-02T03:04:05Z"}},
		"backendRef": map[string]any{"apiVersion": "a/b", "kind": "<script>6</script>", "name": "javascript:alert(1)"}}
	if err := s.admin.Status().Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"/applications/buckets", "/applications/buckets/" + s.namespace + "/evil", "/applications/buckets/" + s.namespace + "/evil/change"} {
		code, text := s.ask("ada", http.MethodGet, page)
		s.wants(code, text, 200)
		for _, bad := range []string{"<script>1", "<script>2", "<script>3", "<script>4", "<script>5", "<script>6", `href="javascript:`, "\x1b", "\u202e"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s contains %q", page, bad)
			}
		}
	}
}
