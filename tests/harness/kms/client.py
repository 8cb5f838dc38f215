"""Makes a key in a KMS, or encrypts others with it.

Arguments: ENDPOINT AUTHORITY REGION, then `create`, which prints the key's identifier, or `wrap ID` with keys in
hexadecimal on standard input, one a line; prints the `CiphertextBlob` of each in base64.
"""
import base64
import sys

import boto3

endpoint, authority, region, verb, *rest = sys.argv[1:]
service = boto3.client(
    "kms", region_name=region, endpoint_url=endpoint, verify=authority, aws_access_key_id="test", aws_secret_access_key="test"
)
if verb == "create":
    print(service.create_key()["KeyMetadata"]["KeyId"])
else:
    for line in sys.stdin.read().split():
        answer = service.encrypt(KeyId=rest[0], Plaintext=bytes.fromhex(line))
        print(base64.b64encode(answer["CiphertextBlob"]).decode())
