// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

// network are the resources of examples/applications. A zone has one name server, where AWS has a list of four.
var network = map[string]kind{
	"aws_vpc": {attributes: map[string]attribute{
		"id":                   told("vpc-{random}"),
		"arn":                  told("arn:aws:ec2:{provider.region}:" + account + ":vpc/{id}"),
		"cidr_block":           required(text).fixed(),
		"enable_dns_hostnames": optional(flag),
		"tags":                 optional(textMap),
	}},
	"aws_subnet": {attributes: map[string]attribute{
		"id":                told("subnet-{random}"),
		"vpc_id":            required(text).fixed(),
		"availability_zone": optional(text).fixed(),
		"cidr_block":        required(text).fixed(),
		"tags":              optional(textMap),
	}},
	"aws_route53_zone": {attributes: map[string]attribute{
		"id":           told("Z{random}"),
		"zone_id":      told("{id}"),
		"name":         required(text).fixed(),
		"comment":      optional(text),
		"name_servers": told("ns-1.awsdns-00.com"),
	}},
	"aws_route53_record": {attributes: map[string]attribute{
		"id":      told("{zone_id}_{name}_{type}"),
		"zone_id": required(text).fixed(),
		"name":    required(text).fixed(),
		"type":    required(text),
		"ttl":     optional(whole),
		"records": optional(textSet),
	}},
}
