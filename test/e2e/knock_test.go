// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// stranger has no credentials, does not verify certificates, and is not led to the page's login.
var stranger = http.Client{Timeout: 5 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // a stranger is not particular

// knock makes a request as a stranger. Without any response, the status is 0.
func knock(t *testing.T, method, address string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := stranger.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()                                 //nolint:errcheck // read only
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)) //nolint:errcheck // what came is enough
	return response.StatusCode, string(body)
}
