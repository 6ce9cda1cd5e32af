// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import _ "embed" // for the schema

// Schema is the JSON schema of the document, generated from its types.
//
//go:embed schema.json
var Schema []byte
