// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import "encoding/json"

// Members returns the members of a JSON object, as parts of the text. It does not decode them.
func Members(object []byte) (map[string]json.RawMessage, error) { return fields(object) }
