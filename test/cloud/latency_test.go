// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloud_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestSlowCloudAnswersLate(t *testing.T) {
	c := start(t)
	c.Slow(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, c.URL()+"/objects/a", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Token())
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		response.Body.Close() //nolint:errcheck // not read
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cloud that takes an hour has answered: %v", err)
	}
	c.Slow(0)
	if status, _ := do(t, c, "PUT", "/objects/b", "{}"); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
}
