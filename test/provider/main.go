// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command provider is the test provider yuba-dev/yubatest. It manages the objects of the cloud in
// test/cloud, and uses the same plugin framework as real providers. It is a separate module, so
// that Yuba does not depend on its dependencies.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

func main() {
	err := providerserver.Serve(context.Background(), newProvider, providerserver.ServeOpts{Address: "registry.opentofu.org/yuba-dev/yubatest"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}
