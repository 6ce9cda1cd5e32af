// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tmpdeps

import (
	_ "github.com/fluxcd/pkg/gittestserver"
)
