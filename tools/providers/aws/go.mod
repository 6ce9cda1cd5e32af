module github.com/yuba-dev/yuba/tools/providers/aws

go 1.26
