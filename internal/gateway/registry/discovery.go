// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"net/http"
)

// discovery says where the protocols are.
func (s *Server) discovery(w http.ResponseWriter, _ *http.Request) (string, error) {
	services := map[string]any{"modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/"}
	if s.opts.Login != nil {
		services["login.v1"] = map[string]any{"client": loginClient, "grant_types": []string{"authz_code"}, "authz": authorizePath, "token": tokenPath,
			"ports": []int{firstPort, lastPort}}
	}
	return "", sendJSON(w, services)
}

func sendJSON(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(data) //nolint:errcheck // the client is gone
	return nil
}
