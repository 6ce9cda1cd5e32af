// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// BackendKind says who keeps a stack's state.
type BackendKind string

// The kinds of backends.
const (
	// BackendManaged keeps the state in a file that Yuba takes care of.
	BackendManaged BackendKind = "managed"
	// BackendOwn is what the stack or its module names.
	BackendOwn BackendKind = "own"
)

// ManagedBackend is the override file of every stack whose state Yuba keeps.
// It has no parameters, so that saved plans hold nothing that could change.
const ManagedBackend = "terraform {\n  backend \"local\" {}\n}\n"

// BackendConfig is where a stack's state is.
type BackendConfig struct {
	Kind BackendKind
	// HCL is the content of the override file; empty when there is none.
	HCL string
}

// Backend renders a stack's backend configuration.
func Backend(spec *infrav1.TerraformSpec) (BackendConfig, error) {
	config := spec.BackendConfig
	switch {
	case spec.Cloud != nil:
		return BackendConfig{}, errors.New("spec.cloud: a cloud backend is not supported yet; use spec.backendConfig.customConfiguration")
	case config == nil:
		return BackendConfig{Kind: BackendManaged, HCL: ManagedBackend}, nil
	case config.Disable:
		return BackendConfig{Kind: BackendOwn}, nil
	case config.CustomConfiguration != "":
		return BackendConfig{Kind: BackendOwn, HCL: "terraform {\n" + strings.TrimRight(config.CustomConfiguration, "\n") + "\n}\n"}, nil
	}
	return BackendConfig{Kind: BackendManaged, HCL: ManagedBackend}, nil
}
