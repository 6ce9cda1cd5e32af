// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// resourceSchema converts a kind for the framework.
func resourceSchema(k kind) schema.Schema {
	return schema.Schema{Attributes: resourceAttributes(k.attributes), Blocks: resourceBlocks(k.blocks)}
}

func resourceAttributes(of map[string]attribute) map[string]schema.Attribute {
	out := map[string]schema.Attribute{}
	for name, a := range of {
		out[name] = a.inResource()
	}
	return out
}

func resourceBlocks(of map[string]block) map[string]schema.Block {
	out := map[string]schema.Block{}
	for name, b := range of {
		out[name] = schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
			Attributes: resourceAttributes(b.attributes), Blocks: resourceBlocks(b.blocks)}}
	}
	return out
}

func (a attribute) inResource() schema.Attribute {
	switch a.shape {
	case whole:
		return schema.Int64Attribute{Required: a.required, Optional: a.optional, Computed: a.computed, Sensitive: a.sensitive, PlanModifiers: a.wholeModifiers()}
	case flag:
		return schema.BoolAttribute{Required: a.required, Optional: a.optional, Computed: a.computed, Sensitive: a.sensitive, PlanModifiers: a.flagModifiers()}
	case textList:
		return schema.ListAttribute{ElementType: types.StringType, Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
	case textSet:
		return schema.SetAttribute{ElementType: types.StringType, Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
	case anything:
		return schema.DynamicAttribute{Required: a.required, Optional: a.optional, Computed: a.computed, Sensitive: a.sensitive}
	case textMap:
		return schema.MapAttribute{ElementType: types.StringType, Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
	default:
		return schema.StringAttribute{Required: a.required, Optional: a.optional, Computed: a.computed, Sensitive: a.sensitive, PlanModifiers: a.textModifiers()}
	}
}

func (a attribute) textModifiers() (out []planmodifier.String) {
	if a.computed {
		out = append(out, stringplanmodifier.UseStateForUnknown())
	}
	if a.replaces {
		out = append(out, stringplanmodifier.RequiresReplace())
	}
	return out
}

func (a attribute) wholeModifiers() (out []planmodifier.Int64) {
	if a.computed {
		out = append(out, int64planmodifier.UseStateForUnknown())
	}
	if a.replaces {
		out = append(out, int64planmodifier.RequiresReplace())
	}
	return out
}

func (a attribute) flagModifiers() (out []planmodifier.Bool) {
	if a.computed {
		out = append(out, boolplanmodifier.UseStateForUnknown())
	}
	if a.replaces {
		out = append(out, boolplanmodifier.RequiresReplace())
	}
	return out
}

// argumentSchema converts a provider's block for the framework.
func argumentSchema(of map[string]attribute) providerschema.Schema {
	out := map[string]providerschema.Attribute{}
	for name, a := range of {
		switch a.shape {
		case whole:
			out[name] = providerschema.Int64Attribute{Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
		case flag:
			out[name] = providerschema.BoolAttribute{Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
		case textList:
			out[name] = providerschema.ListAttribute{ElementType: types.StringType, Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
		case textSet:
			out[name] = providerschema.SetAttribute{ElementType: types.StringType, Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
		case anything:
			out[name] = providerschema.DynamicAttribute{Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
		case textMap:
			out[name] = providerschema.MapAttribute{ElementType: types.StringType, Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
		default:
			out[name] = providerschema.StringAttribute{Required: a.required, Optional: a.optional, Sensitive: a.sensitive}
		}
	}
	return providerschema.Schema{Attributes: out}
}
