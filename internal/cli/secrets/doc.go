// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package secrets has the commands "yuba secrets": the secrets that an environment declares in its file
// secrets.yaml are made, shown, rotated, checked and copied.
//
// Package secrets/rotate does it. This package finds the environment, opens its stores with the caller's
// credentials, and runs dependents by the API. Credentials come from the environment and from files, never from
// flags.
package secrets
