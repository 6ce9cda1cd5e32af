// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package texts keeps kubectl's packages from loading their translations while they are initialised, which
// takes 10 ms, unless the command line names kubectl. It imports as little of kubectl as it can, so that
// it is initialised before them.
package texts

import (
	"os"
	"slices"

	"k8s.io/kubectl/pkg/util/i18n"
)

func init() { //nolint:gochecknoinits // it has to happen before kubectl's packages are initialised
	if !slices.Contains(os.Args, "kubectl") {
		_ = i18n.SetLoadTranslationsFunc(func() error { return nil }) // it only refuses nil
	}
}
