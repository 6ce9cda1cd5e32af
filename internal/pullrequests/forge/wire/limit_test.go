// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

// TestALongResponseIsRefused: of eight passes at once, each may have one in memory.
func TestALongResponseIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		size int
		long bool
	}{
		"4 MiB":         {4 << 20, false},
		"more than 8":   {9 << 20, true},
		"nearly 64 MiB": {63 << 20, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, `{"text":"`+strings.Repeat("x", test.size)+`"}`) //nolint:errcheck // the client may have enough
			}))
			t.Cleanup(s.Close)
			c, err := wire.New(forge.Config{}, s.URL)
			if err != nil {
				t.Fatal(err)
			}
			var out struct{ Text string }
			_, err = c.Do(t.Context(), wire.Call{Doing: "read", Path: "/", Out: &out})
			if (err != nil) != test.long || !test.long && len(out.Text) != test.size {
				t.Errorf("%d bytes, %v", len(out.Text), err)
			}
			var refused *forge.RefusedError
			if test.long && (!errors.As(err, &refused) || !strings.Contains(err.Error(), "more than 8 MiB")) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
