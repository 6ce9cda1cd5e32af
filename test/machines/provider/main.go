// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command provider is the provider yuba-dev/machines. It manages the networks and machines of local-machines (see
// test/machines). It is a separate module, so that Yuba does not depend on its dependencies.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

func main() {
	newProvider := func() provider.Provider { return machinesProvider{} }
	err := providerserver.Serve(context.Background(), newProvider, providerserver.ServeOpts{Address: "registry.opentofu.org/yuba-dev/machines"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// machinesProvider reads its address and token from the environment only, so that no plan and no state has them.
type machinesProvider struct{}

const (
	envEndpoint = "MACHINES_ENDPOINT"
	envToken    = "MACHINES_TOKEN"
)

func (machinesProvider) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "machines"
}

func (machinesProvider) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = schema.Schema{Description: "Networks and machines of local-machines. The environment has " + envEndpoint + " and " + envToken + "."}
}

func (machinesProvider) Configure(_ context.Context, _ provider.ConfigureRequest, r *provider.ConfigureResponse) {
	c := &cloud{endpoint: os.Getenv(envEndpoint), token: os.Getenv(envToken)}
	if c.endpoint == "" || c.token == "" {
		r.Diagnostics.AddError("Missing credentials", envEndpoint+" and "+envToken+" are not in the environment. They are the content of DIR/endpoint and DIR/token of:\n    local-machines serve DIR")
	}
	r.ResourceData = c
}

func (machinesProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &networkResource{} },
		func() resource.Resource { return &machineResource{} },
	}
}

func (machinesProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }
