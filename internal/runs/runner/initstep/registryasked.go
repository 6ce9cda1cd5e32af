// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/modules"
)

// stillGives returns an error if the registry would not give a stored module to the run now: the right
// to read it was withdrawn, or the version was revoked. While the registry does not answer, what is
// stored counts.
func stillGives(ctx context.Context, from *origin, call modules.Call, version string) error {
	source, _, _ := strings.Cut(call.Source, "//")
	_, name, _ := strings.Cut(source, "/")
	answer, err := from.fetch.Registry.Open(ctx, http.MethodHead, "/v1/modules/"+name+"/"+version+"/download", http.Header{})
	if err != nil {
		return nil //nolint:nilerr // an outage of the registry does not stop runs
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("the registry does not give %s %s to this stack any more: %s", source, version, answer.Status)
	}
	return nil
}
