// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"maps"
	"os"
	"regexp"
)

// The environment variables that the real provider also reads.
const (
	envEndpoint  = "AWS_ENDPOINT_URL"
	envKeyID     = "AWS_ACCESS_KEY_ID"
	envSecretKey = "AWS_SECRET_ACCESS_KEY"
)

// account is the id of the account.
const account = "123456789012"

// aws is hashicorp/aws.
var aws = table{
	source:    "hashicorp/aws",
	arguments: map[string]attribute{"region": optional(text)},
	access: func(texts) (string, string, error) {
		if os.Getenv(envKeyID) == "" || os.Getenv(envSecretKey) == "" {
			return "", "", errors.New("no valid credential sources found: " + envKeyID + " and " + envSecretKey + " are not in the environment")
		}
		if os.Getenv(envEndpoint) == "" {
			return "", "", errors.New(envEndpoint + " is not in the environment; this provider is a stand-in for tests and cannot reach AWS")
		}
		return os.Getenv(envEndpoint), os.Getenv(envSecretKey), nil
	},
	kinds: together(buckets, database, distribution, identities, network),
}

func together(all ...map[string]kind) map[string]kind {
	out := map[string]kind{}
	for _, kinds := range all {
		maps.Copy(out, kinds)
	}
	return out
}

// ofBucket is a setting of a bucket that is a separate resource.
func ofBucket(more map[string]attribute, blocks map[string]block) kind {
	attributes := map[string]attribute{"id": told("{bucket}"), "bucket": required(text).fixed()}
	maps.Copy(attributes, more)
	return kind{attributes: attributes, blocks: blocks}
}

var buckets = map[string]kind{
	"aws_s3_bucket": {
		attributes: map[string]attribute{
			"id":                          told("{bucket}"),
			"bucket":                      required(text).fixed(),
			"force_destroy":               optional(flag),
			"tags":                        optional(textMap),
			"arn":                         told("arn:aws:s3:::{bucket}"),
			"region":                      told("{provider.region}"),
			"bucket_domain_name":          told("{bucket}.s3.amazonaws.com"),
			"bucket_regional_domain_name": told("{bucket}.s3.{provider.region}.amazonaws.com"),
		},
		refuses: []refusal{{"bucket", regexp.MustCompile(`^.{0,2}$|.{64}|[^a-z0-9.-]`), "the name of a bucket is 3 to 63 lower-case letters, digits, dots and hyphens"}},
	},
	"aws_s3_bucket_versioning": ofBucket(nil, map[string]block{
		"versioning_configuration": {attributes: map[string]attribute{"status": required(text)}},
	}),
	"aws_s3_bucket_server_side_encryption_configuration": ofBucket(nil, map[string]block{
		"rule": {blocks: map[string]block{
			"apply_server_side_encryption_by_default": {attributes: map[string]attribute{"sse_algorithm": required(text)}},
		}},
	}),
	"aws_s3_bucket_ownership_controls": ofBucket(nil, map[string]block{
		"rule": {attributes: map[string]attribute{"object_ownership": required(text)}},
	}),
	"aws_s3_bucket_public_access_block": ofBucket(map[string]attribute{
		"block_public_acls":       optional(flag),
		"block_public_policy":     optional(flag),
		"ignore_public_acls":      optional(flag),
		"restrict_public_buckets": optional(flag),
	}, nil),
	"aws_s3_bucket_policy": ofBucket(map[string]attribute{"policy": required(text)}, nil),
}

// port is a rule of a security group.
var port = block{attributes: map[string]attribute{
	"from_port":   required(whole),
	"to_port":     required(whole),
	"protocol":    required(text),
	"cidr_blocks": optional(textList),
	"description": optional(text),
}}

var database = map[string]kind{
	"aws_security_group": {
		attributes: map[string]attribute{
			"id":          told("sg-{random}"),
			"name":        optional(text).or("{name_prefix}{random}").fixed(),
			"name_prefix": optional(text).fixed(),
			"description": optional(text).fixed(),
			"vpc_id":      optional(text).or("vpc-default").fixed(),
			"tags":        optional(textMap),
			"arn":         told("arn:aws:ec2:{provider.region}:" + account + ":security-group/{id}"),
		},
		blocks: map[string]block{"ingress": port, "egress": port},
	},
	"aws_db_instance": {
		attributes: map[string]attribute{
			"id":                        told("db-{random}"),
			"identifier":                required(text).fixed(),
			"engine":                    required(text).fixed(),
			"engine_version":            optional(text).or("16"),
			"instance_class":            required(text),
			"allocated_storage":         required(whole),
			"storage_type":              optional(text).or("gp2"),
			"storage_encrypted":         optional(flag).fixed(),
			"db_name":                   optional(text).fixed(),
			"username":                  required(text).fixed(),
			"password":                  required(text).secret(),
			"port":                      optional(whole).or("5432"),
			"db_subnet_group_name":      optional(text).or("default"),
			"vpc_security_group_ids":    optional(textSet),
			"backup_retention_period":   optional(whole),
			"backup_window":             optional(text).or("03:00-04:00"),
			"maintenance_window":        optional(text).or("mon:04:00-mon:05:00"),
			"skip_final_snapshot":       optional(flag),
			"final_snapshot_identifier": optional(text),
			"tags":                      optional(textMap),
			"address":                   told("{identifier}.{random}.{provider.region}.rds.amazonaws.com"),
			"endpoint":                  told("{address}:{port}"),
			"arn":                       told("arn:aws:rds:{provider.region}:" + account + ":db:{identifier}"),
		},
		refuses: []refusal{
			{"password", regexp.MustCompile(`[/@" ]`), `only printable ASCII characters besides '/', '@', '"' and ' ' may be used`},
			{"identifier", regexp.MustCompile(`--|-$|^[^a-z]|[^a-z0-9-]|.{64}`), "it begins with a letter, has only letters, digits and single hyphens, and does not end with one"},
			{"db_name", regexp.MustCompile(`^[^A-Za-z]|[^A-Za-z0-9_]|.{64}`), "it begins with a letter and has only letters, digits and underscores"},
		},
	},
}

var distribution = map[string]kind{
	"aws_cloudfront_origin_access_control": {attributes: map[string]attribute{
		"id":                                told("e{random}"),
		"name":                              required(text).fixed(),
		"origin_access_control_origin_type": required(text),
		"signing_behavior":                  required(text),
		"signing_protocol":                  required(text),
	}},
	"aws_cloudfront_distribution": {
		attributes: map[string]attribute{
			"id":                  told("e{random}"),
			"enabled":             required(flag),
			"is_ipv6_enabled":     optional(flag),
			"comment":             optional(text),
			"default_root_object": optional(text),
			"tags":                optional(textMap),
			"domain_name":         told("{id}.cloudfront.net"),
			"arn":                 told("arn:aws:cloudfront::" + account + ":distribution/{id}"),
		},
		blocks: map[string]block{
			"origin": {
				attributes: map[string]attribute{"domain_name": required(text), "origin_id": required(text), "origin_access_control_id": optional(text)},
				blocks: map[string]block{"custom_origin_config": {attributes: map[string]attribute{
					"http_port":              required(whole),
					"https_port":             required(whole),
					"origin_protocol_policy": required(text),
					"origin_ssl_protocols":   required(textSet),
				}}},
			},
			"default_cache_behavior": {
				attributes: map[string]attribute{
					"allowed_methods":        required(textSet),
					"cached_methods":         required(textSet),
					"target_origin_id":       required(text),
					"viewer_protocol_policy": required(text),
					"min_ttl":                optional(whole),
					"default_ttl":            optional(whole),
					"max_ttl":                optional(whole),
					"compress":               optional(flag),
				},
				blocks: map[string]block{"forwarded_values": {
					attributes: map[string]attribute{"query_string": required(flag)},
					blocks:     map[string]block{"cookies": {attributes: map[string]attribute{"forward": required(text)}}},
				}},
			},
			"restrictions": {blocks: map[string]block{
				"geo_restriction": {attributes: map[string]attribute{"restriction_type": required(text), "locations": optional(textSet)}},
			}},
			"viewer_certificate": {attributes: map[string]attribute{"cloudfront_default_certificate": optional(flag)}},
			"logging_config":     {attributes: map[string]attribute{"bucket": required(text), "prefix": optional(text), "include_cookies": optional(flag)}},
		},
	},
}

var identities = map[string]kind{
	"aws_iam_user": {attributes: map[string]attribute{
		"id":            told("{name}"),
		"name":          required(text),
		"force_destroy": optional(flag),
		"tags":          optional(textMap),
		"arn":           told("arn:aws:iam::" + account + ":user/{name}"),
	}},
	"aws_iam_access_key": {attributes: map[string]attribute{
		"id":     told("akia{random}"),
		"user":   required(text).fixed(),
		"secret": told("{random}{random}").secret(),
	}},
	"aws_iam_user_policy": {attributes: map[string]attribute{
		"id":     told("{user}:{name}"),
		"name":   required(text).fixed(),
		"user":   required(text).fixed(),
		"policy": required(text),
	}},
}
