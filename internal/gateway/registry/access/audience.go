// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
)

// Audience is that of tokens which are for the registry only.
const Audience = registry.Audience

// claims are those of a JSON Web Token that decide how to review it, and why it was refused. Nobody
// has verified them: they grant nothing.
type claims struct {
	audiences []string
	expires   time.Time
}

// readClaims reads the claims of a token; of another kind of token there are none.
func readClaims(token string) claims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}
	}
	var in struct {
		Audience json.RawMessage `json:"aud"`
		Expires  float64         `json:"exp"`
	}
	if json.Unmarshal(payload, &in) != nil {
		return claims{}
	}
	var c claims
	if one := ""; json.Unmarshal(in.Audience, &one) == nil {
		c.audiences = []string{one}
	} else if json.Unmarshal(in.Audience, &c.audiences) != nil {
		c.audiences = nil
	}
	if in.Expires > 0 && in.Expires < 1<<40 {
		c.expires = time.Unix(int64(in.Expires), 0).UTC()
	}
	return c
}
